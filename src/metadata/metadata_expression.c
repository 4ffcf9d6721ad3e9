/*-------------------------------------------------------------------------
 *
 * metadata_expression.c
 *	  Default and generation expressions as SQL text.
 *
 * Called by metadata_relation.c, in the context of metadata frames.
 *
 * pg_get_expr() would do, but it locks the relation, and decoding must not
 * wait for a lock: its holder may be waiting for what is decoded.  The server
 * puts an expression without columns into words without looking at any
 * relation.  So columns are replaced by parameters ($1), and these by the
 * columns' names in the text.
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/xact.h"
#include "catalog/heap.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/ruleutils.h"

#include "metadata/metadata_expression.h"

/* Parameters for system columns, whose numbers are negative, follow these. */
#define LAST_COLUMN_PARAMETER MaxHeapAttributeNumber

/* Makes a copy of an expression with parameters for columns. */
static Node *
columns_to_parameters(Node *node, void *context)
{
	Var		   *var = (Var *) node;
	Param	   *param;

	if (node == NULL)
		return NULL;
	if (!IsA(node, Var))
		return expression_tree_mutator(node, columns_to_parameters, context);

	param = makeNode(Param);
	param->paramkind = PARAM_EXTERN;
	param->paramid = var->varattno > 0 ? var->varattno :
		LAST_COLUMN_PARAMETER - var->varattno;
	param->paramtype = var->vartype;
	param->paramtypmod = var->vartypmod;
	param->paramcollid = var->varcollid;
	param->location = -1;
	return (Node *) param;
}

static const char *
parameter_column(TupleDesc desc, long number)
{
	if (number > LAST_COLUMN_PARAMETER)
		return NameStr(SystemAttributeDefinition(LAST_COLUMN_PARAMETER - number)->attname);
	if (number < 1 || number > desc->natts)
		elog(ERROR, "unexpected parameter %ld in an expression", number);
	return NameStr(TupleDescAttr(desc, number - 1)->attname);
}

/*
 * Puts the columns' names in place of the parameters.  The text is the
 * server's own: a dollar sign that is in neither a literal nor a quoted name
 * is a parameter, and quotes inside quotes are doubled.
 */
static char *
parameters_to_names(const char *text, TupleDesc desc)
{
	StringInfoData result;
	char		quote = '\0';

	initStringInfo(&result);
	for (const char *p = text; *p != '\0'; p++)
	{
		char	   *end;

		if (quote == '\0' && *p == '$')
		{
			long		number = strtol(p + 1, &end, 10);

			appendStringInfoString(&result,
								   quote_identifier(parameter_column(desc, number)));
			p = end - 1;
			continue;
		}
		if (*p == quote)
			quote = '\0';
		else if (quote == '\0' && (*p == '\'' || *p == '"'))
			quote = *p;
		appendStringInfoChar(&result, *p);
	}
	return result.data;
}

/* The text of an expression that the catalogs have in nodeToString()'s form. */
static char *
expression_text(Relation relation, const char *expression)
{
	Node	   *node = stringToNode(expression);

	node = columns_to_parameters(node, NULL);
	return parameters_to_names(deparse_expression(node, NIL, false, false),
							   RelationGetDescr(relation));
}

/*
 * May decoding go on after an error?  Not if the server has to act on it: the
 * transaction being decoded has aborted, or the session is to end.
 */
static bool
error_is_local(const ErrorData *error)
{
	int			category = ERRCODE_TO_CATEGORY(error->sqlerrcode);

	return category != ERRCODE_TO_CATEGORY(ERRCODE_TRANSACTION_ROLLBACK) &&
		category != ERRCODE_TO_CATEGORY(ERRCODE_OPERATOR_INTERVENTION) &&
		category != ERRCODE_TO_CATEGORY(ERRCODE_INSUFFICIENT_RESOURCES);
}

/*
 * Ends the subtransaction that an error has left.  That also takes back which
 * transaction the server watches for an abort while it reads catalogs.
 */
static void
recover(MemoryContext context, ResourceOwner owner, TransactionId watched)
{
	RollbackAndReleaseCurrentSubTransaction();
	MemoryContextSwitchTo(context);
	CurrentResourceOwner = owner;
	CheckXidAlive = watched;
}

/*
 * expression_text() in a subtransaction: a description that cannot be given
 * must not end decoding.  NULL after a warning then.
 */
static char *
expression_text_or_null(Relation relation, AttrNumber attnum,
						const char *expression)
{
	MemoryContext context = CurrentMemoryContext;
	ResourceOwner owner = CurrentResourceOwner;
	TransactionId watched = CheckXidAlive;
	char	   *volatile text = NULL;

	BeginInternalSubTransaction(NULL);
	MemoryContextSwitchTo(context);
	PG_TRY();
	{
		text = expression_text(relation, expression);
		ReleaseCurrentSubTransaction();
		MemoryContextSwitchTo(context);
		CurrentResourceOwner = owner;
	}
	PG_CATCH();
	{
		ErrorData  *error;

		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		FlushErrorState();
		recover(context, owner, watched);
		if (!error_is_local(error))
			ReThrowError(error);
		ereport(WARNING,
				(errcode(error->sqlerrcode),
				 errmsg("could not describe the default of column \"%s\" of relation \"%s\"",
						NameStr(TupleDescAttr(RelationGetDescr(relation), attnum - 1)->attname),
						RelationGetRelationName(relation)),
				 errdetail("%s", error->message)));
		text = NULL;
	}
	PG_END_TRY();
	return text;
}

/*
 * metadata_column_expression
 *		The default or generation expression of a column as SQL text, in the
 *		current memory context; NULL if it cannot be given.
 *
 * Constants and names come out as the settings have it, see frame_scope_begin().
 */
char *
metadata_column_expression(Relation relation, AttrNumber attnum)
{
	TupleConstr *constraints = RelationGetDescr(relation)->constr;

	for (int i = 0; constraints && i < constraints->num_defval; i++)
	{
		if (constraints->defval[i].adnum == attnum)
			return expression_text_or_null(relation, attnum,
										   constraints->defval[i].adbin);
	}
	return NULL;
}
